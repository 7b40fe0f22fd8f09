// Loops that call somebody in a few rounds only: a vector that grows, a buffer that is written when it is full.
//
// What such a call may do (free the elements, take a lock) ends every walk through them, so each round would be checked on its own. The
// rounds without it become a loop of their own, inside of one that the call belongs to:
//
//   header ── test ──┬──────────── rest ── header          outer ── header ── test ── rest ── header
//                    └── call ──────┘                                          └── call ── rest' ── outer
//
// What follows the call until the end of the round is there twice, so no round makes another access than before.
#pragma once
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/ProfDataUtils.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace footrace {
using namespace llvm;

class SeparateRareCalls : public PassInfoMixin<SeparateRareCalls> {
public:
  // Could a check not wait beyond it?
  static bool isDeadline(const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || isa<IntrinsicInst>(Call))
      return false;
    auto Effects = Call->getMemoryEffects();
    return !Effects.onlyReadsMemory() && !Effects.onlyAccessesErrnoMem();
  }

private:
  using Blocks = SmallPtrSet<BasicBlock *, 16>;
  // So many instructions of a loop may be there twice.
  static constexpr size_t MaxCopied = 100;
  static constexpr unsigned MaxBlocks = 64;
  // A branch is rare that is taken less often than once in so many times.
  static constexpr uint64_t Rare = 16;

  static bool isRareCall(const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call)
      return false;
    const Function *Callee = Call->getCalledFunction();
    return Call->hasFnAttr(Attribute::Cold) || (Callee && Callee->getName() == "realloc");
  }

  static bool isRarelyEntered(BasicBlock &B) {
    BasicBlock *Before = B.getSinglePredecessor();
    auto *Branch = Before ? dyn_cast<BranchInst>(Before->getTerminator()) : nullptr;
    uint64_t True, False;
    if (!Branch || !Branch->isConditional() || !extractBranchWeights(*Branch, True, False))
      return false;
    uint64_t Here = Branch->getSuccessor(0) == &B ? True : False;
    return Here < (True + False) / Rare;
  }

  // The blocks of the loop that can be reached from `From` without its back edge and without entering one of `Without`.
  static Blocks reach(const Loop &L, ArrayRef<BasicBlock *> From, const Blocks &Without) {
    Blocks Seen;
    SmallVector<BasicBlock *, 16> Todo(From);
    while (!Todo.empty()) {
      BasicBlock *B = Todo.pop_back_val();
      if (!L.contains(B) || Without.contains(B) || !Seen.insert(B).second)
        continue;
      for (BasicBlock *Next : successors(B))
        if (Next != L.getHeader())
          Todo.push_back(Next);
    }
    return Seen;
  }

  static bool canCopy(BasicBlock &B) {
    return !B.isEHPad() && !B.hasAddressTaken() && !isa<IndirectBrInst, CallBrInst>(B.getTerminator()) &&
           none_of(B, [](Instruction &I) {
             auto *Call = dyn_cast<CallBase>(&I);
             return I.getType()->isTokenTy() || (Call && (Call->cannotDuplicate() || Call->isConvergent()));
           });
  }

  // Where a use needs its value.
  static BasicBlock *placeOf(Use &U) {
    auto *User = cast<Instruction>(U.getUser());
    auto *Phi = dyn_cast<PHINode>(User);
    return Phi ? Phi->getIncomingBlock(U) : User->getParent();
  }

  // Whoever can be reached from a block and from its copy uses the value of the one that it came from. (Copies are among them: a round may make
  // a second call.)
  static void mergeValues(const Blocks &Copied, ValueToValueMapTy &Map) {
    for (BasicBlock *B : Copied)
      for (Instruction &I : *B) {
        auto *Twin = cast<Instruction>(Map[&I]);
        SmallVector<Use *, 8> Others;
        for (Use &U : I.uses())
          if (!Copied.contains(placeOf(U)))
            Others.push_back(&U);
        for (Use &U : Twin->uses())
          if (placeOf(U) != Twin->getParent())
            Others.push_back(&U);
        if (Others.empty())
          continue;
        SSAUpdater Updater;
        Updater.Initialize(I.getType(), I.getName());
        Updater.AddAvailableValue(B, &I);
        Updater.AddAvailableValue(Twin->getParent(), Twin);
        for (Use *U : Others)
          Updater.RewriteUse(*U);
      }
  }

  static bool separate(Loop &L) {
    BasicBlock *Before = L.getLoopPreheader(), *Header = L.getHeader(), *Latch = L.getLoopLatch();
    if (!Before || !Latch || L.getNumBlocks() > MaxBlocks)
      return false;
    Blocks Calls;
    for (BasicBlock *B : L.blocks())
      if (any_of(*B, isDeadline) && (any_of(*B, isRareCall) || isRarelyEntered(*B)))
        Calls.insert(B);
    if (Calls.empty() || Calls.contains(Header))
      return false;
    // A round without such a call, and what there is of one from the call on.
    Blocks Fast = reach(L, {Header}, Calls);
    Blocks Slow = reach(L, to_vector(Calls), {});
    auto Accesses = [](BasicBlock *B) {
      return any_of(*B, [](Instruction &I) { return isa<LoadInst, StoreInst>(I); });
    };
    if (!Fast.contains(Latch) || !Slow.contains(Latch) || none_of(Fast, Accesses) ||
        any_of(Fast, [](BasicBlock *B) { return any_of(*B, isDeadline); }))
      return false;
    Blocks Copied;
    size_t Size = 0;
    for (BasicBlock *B : Slow)
      if (Fast.contains(B)) {
        Copied.insert(B);
        Size += B->size();
      }
    if (Size > MaxCopied || !all_of(Copied, [](BasicBlock *B) { return canCopy(*B); }))
      return false;

    ValueToValueMapTy Map;
    SmallVector<BasicBlock *, 16> Copies;
    for (BasicBlock *B : L.blocks())
      if (Copied.contains(B)) {
        BasicBlock *Copy = CloneBasicBlock(B, Map, ".rare", B->getParent());
        Map[B] = Copy;
        Copies.push_back(Copy);
      }
    remapInstructionsInBlocks(Copies, Map);
    auto IsSlowOnly = [&](BasicBlock *B) { return Slow.contains(B) && !Copied.contains(B); };
    for (BasicBlock *B : Copied) {
      auto *Copy = cast<BasicBlock>(Map[B]);
      Copy->getTerminator()->setMetadata(LLVMContext::MD_loop, nullptr);
      // What comes from the call is the same for both, whichever way led there; `mergeValues` sees to it.
      for (auto [Phi, Twin] : zip(B->phis(), Copy->phis()))
        for (unsigned I = 0; I < Phi.getNumIncomingValues(); I++)
          if (IsSlowOnly(Phi.getIncomingBlock(I)))
            Twin.setIncomingValue(I, Phi.getIncomingValue(I));
      // The original is reached without the call only, the copy with it only.
      for (BasicBlock *From : to_vector(predecessors(B)))
        if (IsSlowOnly(From)) {
          From->getTerminator()->replaceSuccessorWith(B, Copy);
          B->removePredecessor(From, /*KeepOneInputPHIs=*/true);
        }
      // Whoever comes next, and is not copied, has one more before it.
      for (BasicBlock *Next : successors(B))
        if (!Copied.contains(Next))
          for (PHINode &Phi : Next->phis()) {
            Value *V = Phi.getIncomingValueForBlock(B);
            Value *Twin = Map.lookup(V);
            Phi.addIncoming(Twin ? Twin : V, Copy);
          }
    }
    for (BasicBlock *Copy : Copies) {
      SmallPtrSet<BasicBlock *, 4> From(llvm::from_range, predecessors(Copy));
      for (PHINode &Phi : Copy->phis())
        Phi.removeIncomingValueIf(
            [&](unsigned I) { return !From.contains(Phi.getIncomingBlock(I)); },
            /*DeletePHIIfEmpty=*/false);
    }
    mergeValues(Copied, Map);
    SplitBlockPredecessors(Header, {Before, cast<BasicBlock>(Map[Latch])}, ".outer");
    return true;
  }

public:
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &AM) {
    bool Changed = false;
    // Neither of the two that a loop becomes can be separated again.
    for (bool Again = true; Again;) {
      auto Loops = AM.getResult<LoopAnalysis>(F).getLoopsInPreorder();
      Again = any_of(Loops, [](Loop *L) { return separate(*L); });
      Changed |= Again;
      if (Again)
        AM.invalidate(F, PreservedAnalyses::none());
    }
    if (!Changed)
      return PreservedAnalyses::all();
    // A pointer that only the call changes stays the same in the inner loop.
    InstSimplifyPass().run(F, AM);
    return PreservedAnalyses::none();
  }
};
} // namespace footrace
