// Loops that read the same pointer from memory in each round, as far as they know another one each time: some store in them might have changed it.
//
// Hardly ever has it. The loop remembers the pointer that it read last, and since which round it is the same one:
//
//   header:   last = φ(…, last'), since = φ(first round, since')
//             …
//             p = load …
//             if p ≠ last: changed
//   changed:  (what was accessed through `last` since then is checked here)
//   same:     last' = φ(last, p), since' = φ(since, this round), p = last' in any case
//
// So what the loop walks through is a range since then in terms of `last`, which placement finds (`placement::segments`). Nothing of the
// program changes; it goes on with the pointer that it read.
#pragma once
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

namespace footrace {
using namespace llvm;

// The merge `last'`, and the pointer that is equal to it.
static const char *const Last = "footrace.last";

class RememberLastValues : public PassInfoMixin<RememberLastValues> {
  struct Walk {
    LoadInst *Load;
    Loop *L;
    // The counters that accesses through the pointer are in terms of.
    SmallSetVector<PHINode *, 2> Counters;
  };
  static constexpr unsigned MaxBlocks = 64;
  // Each of them is a test in every round.
  static constexpr unsigned MaxWalks = 8;

  static Value *pointerOf(Instruction &I) {
    return const_cast<Value *>(getLoadStorePointerOperand(&I));
  }

  // The counters of `L` that an address is computed from.
  static void countersOf(Value *V, Loop &L, ScalarEvolution &SE, unsigned Depth,
                         SmallSetVector<PHINode *, 2> &Counters) {
    auto *I = dyn_cast<Instruction>(V);
    if (!I || Depth == 0 || !L.contains(I))
      return;
    if (auto *Phi = dyn_cast<PHINode>(I)) {
      if (Phi->getParent() == L.getHeader() && isa<SCEVAddRecExpr>(SE.getSCEV(Phi)))
        Counters.insert(Phi);
      return;
    }
    if (isa<GetElementPtrInst, BinaryOperator, CastInst>(I))
      for (Value *Operand : I->operands())
        countersOf(Operand, L, SE, Depth - 1, Counters);
  }

  // Does the loop access, in each round, what is at a fixed or steadily moving distance from the pointer?
  static bool findAccesses(Walk &W, ArrayRef<Instruction *> Accesses, ScalarEvolution &SE) {
    bool Found = false;
    const SCEV *Base = SE.getSCEV(W.Load);
    for (Instruction *I : Accesses) {
      const SCEV *Distance = SE.getMinusSCEV(SE.getSCEV(pointerOf(*I)), Base);
      if (isa<SCEVCouldNotCompute>(Distance))
        continue;
      auto *Moving = dyn_cast<SCEVAddRecExpr>(Distance);
      // What an outer loop moves stays where it is in this one.
      bool Moves = Moving && Moving->getLoop() == W.L && Moving->isAffine();
      if (!Moves && !SE.isLoopInvariant(Distance, W.L))
        continue;
      Found = true;
      countersOf(pointerOf(*I), *W.L, SE, 8, W.Counters);
    }
    return Found;
  }

  // Something that counts rounds, if no access is in terms of a counter.
  static void addCounter(Walk &W, ScalarEvolution &SE) {
    if (!W.Counters.empty())
      return;
    for (PHINode &Phi : W.L->getHeader()->phis())
      if (Phi.getType()->isIntegerTy(64) && isa<SCEVAddRecExpr>(SE.getSCEV(&Phi))) {
        W.Counters.insert(&Phi);
        return;
      }
  }

  static void find(Loop &L, DominatorTree &DT, ScalarEvolution &SE, AAResults &AA,
                   SmallVectorImpl<Walk> &Walks) {
    BasicBlock *Latch = L.getLoopLatch();
    if (!L.getLoopPreheader() || !Latch || L.getNumBlocks() > MaxBlocks ||
        any_of(L.blocks(), [](BasicBlock *B) {
          return any_of(*B, SeparateRareCalls::isDeadline) ||
                 any_of(*B, [](Instruction &I) { return I.isAtomic(); });
        }))
      return;
    // Of every round.
    SmallVector<Instruction *, 16> Accesses;
    SmallVector<StoreInst *, 8> Stores;
    for (BasicBlock *B : L.blocks())
      for (Instruction &I : *B) {
        if (!isa<LoadInst, StoreInst>(I) || !DT.dominates(B, Latch))
          continue;
        Accesses.push_back(&I);
        if (auto *Store = dyn_cast<StoreInst>(&I))
          Stores.push_back(Store);
      }
    SmallVector<Walk, 8> Found;
    SmallVector<LoadInst *, 8> Remembered;
    // An address that stays the same as long as a pointer that is remembered does.
    auto Stays = [&](Value *Pointer) {
      const SCEV *Address = SE.getSCEV(Pointer);
      return SE.isLoopInvariant(Address, &L) || any_of(Remembered, [&](LoadInst *Base) {
               const SCEV *Distance = SE.getMinusSCEV(Address, SE.getSCEV(Base));
               return !isa<SCEVCouldNotCompute>(Distance) && SE.isLoopInvariant(Distance, &L);
             });
    };
    for (Instruction *I : Accesses) {
      auto *Load = dyn_cast<LoadInst>(I);
      if (!Load || !Load->getType()->isPointerTy() || Load->getType()->getPointerAddressSpace() != 0)
        continue;
      if (!Stays(Load->getPointerOperand()))
        continue;
      // A loop that moves it on has another one in each round.
      if (any_of(Stores, [&](StoreInst *Store) {
            return AA.isMustAlias(MemoryLocation::get(Store), MemoryLocation::get(Load));
          }))
        continue;
      Walk W{Load, &L, {}};
      if (!findAccesses(W, Accesses, SE))
        continue;
      addCounter(W, SE);
      if (W.Counters.empty() || W.Counters.size() > 2)
        continue;
      Remembered.push_back(Load);
      Found.push_back(std::move(W));
    }
    if (Found.size() <= MaxWalks)
      append_range(Walks, Found);
  }

  // The pointer that was read last from the same place when the loop begins: whatever it is, it is only compared with.
  static Value *before(const Walk &W, Instruction *Value, BasicBlock *Preheader) {
    Function &F = *Preheader->getParent();
    Type *Pointer = W.Load->getType();
    SSAUpdater Updater;
    Updater.Initialize(Pointer, "last");
    Updater.AddAvailableValue(&F.getEntryBlock(), ConstantPointerNull::get(cast<PointerType>(Pointer)));
    auto *From = W.Load->getPointerOperand();
    if (!isa<Constant>(From))
      for (User *U : From->users()) {
        auto *Other = dyn_cast<LoadInst>(U);
        if (Other && Other != W.Load && Other->getType() == Pointer && Other->getFunction() == &F &&
            !W.L->contains(Other))
          Updater.AddAvailableValue(Other->getParent(), Other);
      }
    Updater.AddAvailableValue(Value->getParent(), Value);
    return Updater.GetValueAtEndOfBlock(Preheader);
  }

  static void remember(const Walk &W, DomTreeUpdater &Trees, LoopInfo &LI) {
    LLVMContext &Context = W.Load->getContext();
    BasicBlock *Header = W.L->getHeader(), *Latch = W.L->getLoopLatch(), *Preheader = W.L->getLoopPreheader();
    Type *Pointer = W.Load->getType();
    IRBuilder<> At(Header, Header->begin());
    At.SetCurrentDebugLocation(W.Load->getDebugLoc());
    PHINode *Before = At.CreatePHI(Pointer, 2, "last");
    SmallVector<PHINode *, 2> Since;
    for (PHINode *Counter : W.Counters)
      Since.push_back(At.CreatePHI(Counter->getType(), 2, "since"));

    At.SetInsertPoint(W.Load->getNextNode());
    // A pointer that nobody wrote may be any; from here on it is one.
    auto *Value = cast<Instruction>(At.CreateFreeze(W.Load));
    auto *Test = cast<Instruction>(At.CreateICmpNE(Value, Before));
    MDNode *Weights = MDBuilder(Context).createUnlikelyBranchWeights();
    Instruction *Changed = SplitBlockAndInsertIfThen(Test, std::next(Test->getIterator()), false, Weights, &Trees, &LI);
    Changed->getParent()->setName("changed");
    BasicBlock *Same = Changed->getSuccessor(0);
    At.SetInsertPoint(Same, Same->begin());
    MDNode *Mark = MDNode::get(Context, {});
    PHINode *After = At.CreatePHI(Pointer, 2, "last");
    After->addIncoming(Before, Value->getParent());
    After->addIncoming(Value, Changed->getParent());
    After->setMetadata(Last, Mark);
    if (Latch == Value->getParent())
      Latch = Same;
    auto First = [&](PHINode *Counter) { return Counter->getIncomingValueForBlock(Preheader); };
    for (auto [Counter, Then] : zip(W.Counters, Since)) {
      PHINode *Now = At.CreatePHI(Counter->getType(), 2, "since");
      Now->addIncoming(Then, Value->getParent());
      Now->addIncoming(Counter, Changed->getParent());
      Now->setMetadata(Last, Mark);
      Then->addIncoming(First(Counter), Preheader);
      Then->addIncoming(Now, Latch);
    }
    // The program's: equal to the merge.
    At.SetInsertPoint(Same->getFirstNonPHIIt());
    auto *Equal = GetElementPtrInst::Create(At.getInt8Ty(), Value, {At.getInt64(0)}, "", At.GetInsertPoint());
    Equal->setMetadata(Last, Mark);
    Equal->setDebugLoc(W.Load->getDebugLoc());
    W.Load->replaceUsesWithIf(Equal, [&](Use &U) { return U.getUser() != Value; });
    Before->addIncoming(PoisonValue::get(Pointer), Preheader);
    Before->addIncoming(After, Latch);
    At.SetInsertPoint(Preheader->getTerminator());
    Before->setIncomingValueForBlock(Preheader, At.CreateFreeze(before(W, Value, Preheader)));
  }

public:
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &AM) {
    LoopInfo &LI = AM.getResult<LoopAnalysis>(F);
    if (LI.empty())
      return PreservedAnalyses::all();
    DominatorTree &DT = AM.getResult<DominatorTreeAnalysis>(F);
    ScalarEvolution &SE = AM.getResult<ScalarEvolutionAnalysis>(F);
    AAResults &AA = AM.getResult<AAManager>(F);
    SmallVector<Walk, 8> Walks;
    for (Loop *L : LI.getLoopsInPreorder())
      if (L->isInnermost())
        find(*L, DT, SE, AA, Walks);
    if (Walks.empty())
      return PreservedAnalyses::all();
    DomTreeUpdater Trees(DT, DomTreeUpdater::UpdateStrategy::Eager);
    for (const Walk &W : Walks)
      remember(W, Trees, LI);
    return PreservedAnalyses::none();
  }
};
} // namespace footrace
