// A loop with two ways back that LLVM has made two loops of, since something stays the same on one of them (`separateNestedLoops`, on
// behalf of the length of a vector that only some rounds may change):
//
//   outer: n = φ(…, n')                         i = φ(…, i + 1, i + 1), n = φ(…, n, n')
//   inner: i = φ(…, i + 1) … ── inner    from   …
//          … n' = … ── outer
//
// The walk goes on from one round of the outer loop to the next. It is one loop again, so that it is one walk.
#pragma once
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace footrace {
using namespace llvm;

class JoinContinuedLoops : public PassInfoMixin<JoinContinuedLoops> {
  // So many instructions may be there twice.
  static constexpr size_t MaxCopied = 16;

  // Is it a step from `From`, by a constant?
  static Instruction *stepFrom(Value *V, PHINode &From) {
    auto *Step = dyn_cast<Instruction>(V);
    return Step && isa<BinaryOperator, GetElementPtrInst>(Step) && Step->getNumOperands() == 2 &&
                   Step->getOperand(0) == &From && isa<ConstantInt>(Step->getOperand(1))
               ? Step
               : nullptr;
  }

  static bool sameStep(Instruction *A, Instruction *B) {
    return A && B && A->isSameOperationAs(B) && A->getOperand(1) == B->getOperand(1);
  }

  // Does a counter of the inner loop go on where it was when the outer one begins its next round?
  static bool goesOn(PHINode &Counter, BasicBlock *Outer, BasicBlock *OuterLatch, BasicBlock *InnerLatch) {
    auto *Begin = dyn_cast<PHINode>(Counter.getIncomingValueForBlock(Outer));
    auto IsIndex = [](User *U) { return isa<GetElementPtrInst>(U); };
    if (!Begin || Begin->getParent() != Outer || none_of(Counter.users(), IsIndex))
      return false;
    return sameStep(stepFrom(Counter.getIncomingValueForBlock(InnerLatch), Counter),
                    stepFrom(Begin->getIncomingValueForBlock(OuterLatch), Counter));
  }

  static bool join(Loop &Inner) {
    Loop *Parent = Inner.getParentLoop();
    BasicBlock *Header = Inner.getHeader(), *InnerLatch = Inner.getLoopLatch();
    if (!Parent || !InnerLatch)
      return false;
    BasicBlock *Outer = Parent->getHeader(), *OuterLatch = Parent->getLoopLatch(), *Before = Parent->getLoopPreheader();
    // An outer loop with a counter of its own is one.
    auto Counts = [&](PHINode &Phi) { return stepFrom(Phi.getIncomingValueForBlock(OuterLatch), Phi); };
    if (!OuterLatch || !Before || any_of(Outer->phis(), Counts) || Inner.getLoopPreheader() != Outer || Outer->getSingleSuccessor() != Header ||
        Outer->size() > MaxCopied || any_of(*Outer, [](Instruction &I) { return isa<CallBase>(I); }) ||
        none_of(Header->phis(), [&](PHINode &Phi) { return goesOn(Phi, Outer, OuterLatch, InnerLatch); }))
      return false;

    // The outer header is there twice: for who enters, and for who comes again.
    ValueToValueMapTy Map;
    BasicBlock *Again = CloneBasicBlock(Outer, Map, ".again", Outer->getParent());
    remapInstructionsInBlocks({Again}, Map);
    for (PHINode &Phi : make_early_inc_range(Outer->phis())) {
      auto *Twin = cast<PHINode>(Map[&Phi]);
      Value *V = Phi.getIncomingValueForBlock(OuterLatch);
      Twin->replaceAllUsesWith(V);
      Map[&Phi] = V;
      Twin->eraseFromParent();
      Phi.removeIncomingValue(OuterLatch, /*DeletePHIIfEmpty=*/false);
    }
    OuterLatch->getTerminator()->replaceSuccessorWith(Outer, Again);
    for (PHINode &Phi : Header->phis()) {
      Value *V = Phi.getIncomingValueForBlock(Outer);
      Value *Twin = Map.lookup(V);
      Phi.addIncoming(Twin ? Twin : V, Again);
    }
    // Whoever follows uses what it came with.
    for (Instruction &I : *Outer) {
      SmallVector<Use *, 8> Others;
      for (Use &U : I.uses()) {
        auto *User = cast<Instruction>(U.getUser());
        auto *Phi = dyn_cast<PHINode>(User);
        BasicBlock *At = Phi ? Phi->getIncomingBlock(U) : User->getParent();
        if (At != Outer)
          Others.push_back(&U);
      }
      if (Others.empty())
        continue;
      SSAUpdater Updater;
      Updater.Initialize(I.getType(), I.getName());
      Updater.AddAvailableValue(Outer, &I);
      Updater.AddAvailableValue(Again, Map[&I]);
      for (Use *U : Others)
        Updater.RewriteUse(*U);
    }
    // One way back, with the step on it.
    BasicBlock *Latch = SplitBlockPredecessors(Header, {InnerLatch, Again}, ".latch");
    for (PHINode &Phi : make_early_inc_range(Latch->phis())) {
      auto *A = dyn_cast<Instruction>(Phi.getIncomingValue(0)), *B = dyn_cast<Instruction>(Phi.getIncomingValue(1));
      auto *From = A && A->getNumOperands() == 2 ? dyn_cast<PHINode>(A->getOperand(0)) : nullptr;
      if (!From || From->getParent() != Header || !B || B->getOperand(0) != From ||
          !sameStep(stepFrom(A, *From), stepFrom(B, *From)))
        continue;
      Instruction *Step = A->clone();
      Step->andIRFlags(B);
      Step->insertBefore(Latch->getTerminator()->getIterator());
      Phi.replaceAllUsesWith(Step);
      Phi.eraseFromParent();
    }
    return true;
  }

public:
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &AM) {
    bool Changed = false;
    for (bool Again = true; Again;) {
      Again = any_of(AM.getResult<LoopAnalysis>(F).getLoopsInPreorder(), [](Loop *L) { return join(*L); });
      Changed |= Again;
      if (Again)
        AM.invalidate(F, PreservedAnalyses::none());
    }
    return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
};
} // namespace footrace
