// The part of a pass plugin that has to be C++: module passes that hand the module to Rust, and
// their places in the pipeline. Everything else is in lib.rs.
#include "continued_loops.h"
#include "rare_calls.h"
#include "last_values.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/MustExecute.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/InductiveRangeCheckElimination.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;

extern "C" void footrace_early(LLVMModuleRef);
extern "C" void footrace_late(LLVMModuleRef);
extern "C" void footrace_hot(LLVMModuleRef);
extern "C" void footrace_thin(LLVMModuleRef);
extern "C" bool footrace_has_hot();
extern "C" bool footrace_moves_checks();
extern "C" bool footrace_defers_checks();

// A block on the edge from a terminator to `To`. Several invokes may share a landing pad: it is divided,
// and an invoke that had `To` before is then sent to the part that is left.
extern "C" LLVMBasicBlockRef footrace_split_edge(LLVMValueRef Terminator,
                                                 LLVMBasicBlockRef To) {
  auto *T = unwrap<Instruction>(Terminator);
  BasicBlock *From = T->getParent();
  BasicBlock *Target = unwrap(To);
  auto *Invoke = dyn_cast<InvokeInst>(T);
  if (Invoke && Target != Invoke->getNormalDest())
    Target = Invoke->getUnwindDest();
  if (!is_contained(successors(From), Target))
    return nullptr;
  return wrap(SplitBlockPredecessors(Target, {From}, ".footrace"));
}

// Code that runs before an instruction if a condition holds, which is rare: its terminator.
extern "C" LLVMValueRef footrace_split_if(LLVMValueRef Condition,
                                          LLVMValueRef Before) {
  auto *Weights = MDBuilder(unwrap(Condition)->getContext())
                      .createUnlikelyBranchWeights();
  return wrap(SplitBlockAndInsertIfThen(unwrap(Condition),
                                        unwrap<Instruction>(Before), false,
                                        Weights));
}

// footrace-cc compiles with -fno-unroll-loops, so that no loop is unrolled before it is analysed. Its
// mark on each loop would keep them as they are for good.
struct AllowUnrolling : PassInfoMixin<AllowUnrolling> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    for (BasicBlock &B : F) {
      Instruction *T = B.getTerminator();
      if (MDNode *Loop = T->getMetadata(LLVMContext::MD_loop))
        T->setMetadata(LLVMContext::MD_loop,
                       makePostTransformationMetadata(
                           F.getContext(), Loop,
                           {"llvm.loop.unroll.disable"}, {}));
    }
    return PreservedAnalyses::all();
  }
};

// Loads of memory that others may see: volatile while loops are prepared, since a read whose value
// nobody uses is one all the same.
static const char *const Kept = "footrace.kept";

static void keep(LoadInst *Load) {
  Load->setVolatile(true);
  Load->setMetadata(Kept, MDNode::get(Load->getContext(), {}));
}

struct KeepLoads : PassInfoMixin<KeepLoads> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    for (Instruction &I : instructions(F))
      if (auto *Load = dyn_cast<LoadInst>(&I))
        if (Load->isSimple() &&
            !isa<AllocaInst>(getUnderlyingObject(Load->getPointerOperand())))
          keep(Load);
    return PreservedAnalyses::none();
  }
};

// Does a condition of a loop compare its counter with something that stays the same?
static bool testsCounter(const Loop &L, Value *Condition, unsigned Depth) {
  if (auto *Compare = dyn_cast<ICmpInst>(Condition)) {
    auto IsCounter = [&](Value *V) {
      auto *Phi = dyn_cast<PHINode>(V);
      return Phi && Phi->getParent() == L.getHeader();
    };
    Value *A = Compare->getOperand(0), *B = Compare->getOperand(1);
    return (IsCounter(A) && L.isLoopInvariant(B)) ||
           (IsCounter(B) && L.isLoopInvariant(A));
  }
  auto *I = dyn_cast<Instruction>(Condition);
  return I && Depth > 0 && L.contains(I) &&
         (isa<SelectInst>(I) || I->getOpcode() == Instruction::And ||
          I->getOpcode() == Instruction::Or) &&
         any_of(I->operands(),
                [&](Value *V) { return testsCounter(L, V, Depth - 1); });
}

// Is there something that such a loop accesses in some rounds only, by a test of its counter?
static bool isDivisible(const Loop &L) {
  if (!L.isInnermost() || !L.getLoopLatch() || L.getNumBlocks() > 16)
    return false;
  return any_of(L.blocks(), [&](BasicBlock *B) {
    auto *Branch = dyn_cast<BranchInst>(B->getTerminator());
    auto Accesses = [&](BasicBlock *To) {
      return To->getSinglePredecessor() == B &&
             any_of(*To, [](Instruction &I) { return isa<LoadInst, StoreInst>(I); });
    };
    return Branch && Branch->isConditional() && B != L.getLoopLatch() &&
           all_of(Branch->successors(),
                  [&](BasicBlock *To) { return L.contains(To); }) &&
           any_of(Branch->successors(), Accesses) &&
           testsCounter(L, Branch->getCondition(), 3);
  });
}

// A loop that accesses something in some rounds only, by a test of its counter (`0 < j && j < n - 1`), becomes loops that do so
// in every round and loops that never do: what every round accesses can be checked behind the loop. No access comes or goes.
class DivideLoops : public PassInfoMixin<DivideLoops> {
  FunctionPassManager Passes;

public:
  DivideLoops() {
    Passes.addPass(createFunctionToLoopPassAdaptor(
        SimpleLoopUnswitchPass(/*NonTrivial=*/true), /*UseMemorySSA=*/true));
    LoopPassManager LPM;
    LPM.addPass(IndVarSimplifyPass());
    // The first rounds, if the counter is tested for them.
    LPM.addPass(LoopFullUnrollPass());
    Passes.addPass(createFunctionToLoopPassAdaptor(std::move(LPM)));
    Passes.addPass(InstSimplifyPass());
    Passes.addPass(LoopSimplifyPass());
    Passes.addPass(LCSSAPass());
    Passes.addPass(IRCEPass());
  }

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    if (none_of(LI.getLoopsInPreorder(),
                [](Loop *L) { return isDivisible(*L); }))
      return PreservedAnalyses::all();
    // It is made for tests that hardly ever fail; here they need only be tests.
    auto &Options = cl::getRegisteredOptions();
    auto Found = Options.find("irce-skip-profitability-checks");
    if (Found != Options.end())
      static_cast<cl::opt<bool> *>(Found->second)->setValue(true);
    Passes.run(F, FAM);
    for (BasicBlock &B : F)
      ConstantFoldTerminator(&B, /*DeleteDeadConditions=*/true);
    removeUnreachableBlocks(F);
    FAM.invalidate(F, PreservedAnalyses::none());
    return PreservedAnalyses::none();
  }
};

// Not an access of the program's: the value of one that is still there, read earlier.
static const char *const Silent = "footrace.silent";

// A loop that loads the same value in each round (the pointer and the length of a slice that it walks
// through, behind a test that may leave the loop) loads it once, before it begins, if the compiler may assume that it is the
// same. So addresses in terms of it are those of a walk. The load in the loop stays where it was as an access without a use: what is
// accessed when, and so what is checked, does not change.
struct HoistValues : PassInfoMixin<HoistValues> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    if (LI.empty())
      return PreservedAnalyses::all();
    DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
    AAResults &AA = FAM.getResult<AAManager>(F);
    AssumptionCache &AC = FAM.getResult<AssumptionAnalysis>(F);
    TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
    const DataLayout &DL = F.getDataLayout();
    SmallVector<LoadInst *, 16> Volatile, Loads;
    for (BasicBlock *B : ReversePostOrderTraversal<Function *>(&F))
      for (Instruction &I : *B)
        if (auto *Load = dyn_cast<LoadInst>(&I)) {
          // As they were before they were kept; otherwise each of them would be a write of everything.
          if (Load->getMetadata(Kept)) {
            Load->setVolatile(false);
            Volatile.push_back(Load);
          }
          if (Load->isSimple() && !Load->use_empty() && LI.getLoopFor(B))
            Loads.push_back(Load);
        }
    MemorySSA MSSA(F, &AA, &DT);
    MemorySSAWalker *Walker = MSSA.getWalker();
    for (LoadInst *Load : Loads) {
      MemoryUseOrDef *Use = MSSA.getMemoryAccess(Load);
      if (!Use)
        continue;
      BasicBlock *Written = Walker->getClobberingMemoryAccess(Use)->getBlock();
      Instruction *Before = nullptr;
      for (Loop *L = LI.getLoopFor(Load->getParent()); L;
           L = L->getParentLoop()) {
        BasicBlock *Preheader = L->getLoopPreheader();
        bool Moved = false;
        if (!Preheader || L->contains(Written) ||
            !L->makeLoopInvariant(Load->getPointerOperand(), Moved))
          break;
        SimpleLoopSafetyInfo Safety;
        Safety.computeLoopSafetyInfo(L);
        Instruction *End = Preheader->getTerminator();
        if (!isDereferenceableAndAlignedPointer(
                Load->getPointerOperand(), Load->getType(), Load->getAlign(),
                DL, End, &AC, &DT, &TLI) &&
            !Safety.isGuaranteedToExecute(*Load, &DT, L))
          break;
        Before = End;
      }
      if (!Before)
        continue;
      // Promises of the load (nonnull, range) hold only where it was.
      auto *Early = new LoadInst(Load->getType(), Load->getPointerOperand(),
                                 "", false, Load->getAlign(),
                                 Before->getIterator());
      Early->setMetadata(Silent, MDNode::get(F.getContext(), {}));
      Early->setDebugLoc(Load->getDebugLoc());
      Load->replaceAllUsesWith(Early);
      keep(Load);
    }
    for (LoadInst *Load : Volatile)
      Load->setVolatile(true);
    return PreservedAnalyses::none();
  }
};

struct ReleaseLoads : PassInfoMixin<ReleaseLoads> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    for (Instruction &I : instructions(F))
      if (I.getMetadata(Kept)) {
        I.setMetadata(Kept, nullptr);
        if (auto *Load = dyn_cast<LoadInst>(&I))
          Load->setVolatile(false);
      }
    return PreservedAnalyses::none();
  }
};

// What makes loops analysable: tests at the end, one back edge, wide counters, no loops of a few rounds.
// Memory stays as it is, so that every placement sees the same accesses: no SROA, which would drop the unused parts of a copy.
static void prepare(ModulePassManager &MPM) {
  if (!footrace_moves_checks())
    return;
  FunctionPassManager FPM;
  FPM.addPass(KeepLoads());
  FPM.addPass(AllowUnrolling());
  FPM.addPass(LoopSimplifyPass());
  FPM.addPass(footrace::JoinContinuedLoops());
  FPM.addPass(LoopSimplifyPass());
  FPM.addPass(createFunctionToLoopPassAdaptor(LoopRotatePass()));
  FPM.addPass(footrace::SeparateRareCalls());
  FPM.addPass(DivideLoops());
  FPM.addPass(LoopSimplifyPass());
  FPM.addPass(HoistValues());
  LoopPassManager LPM;
  LPM.addPass(IndVarSimplifyPass());
  // Fields that a short loop visits become accesses of the loop around it.
  LPM.addPass(LoopFullUnrollPass());
  FPM.addPass(createFunctionToLoopPassAdaptor(std::move(LPM)));
  if (footrace_defers_checks())
    FPM.addPass(footrace::RememberLastValues());
  FPM.addPass(ReleaseLoads());
  MPM.addPass(createModuleToFunctionPassAdaptor(std::move(FPM)));
}

// An access or a call that the compiler made of two has no line: neither of theirs is right. A report names the line of the code before it in
// the same function, or behind it, without a column, rather than none.
struct NameLines : PassInfoMixin<NameLines> {
  static bool isNameless(const DILocation *At) { return At && At->getLine() == 0; }

  // The nearest line from `I` on, in one direction, that is of the function (inlined or not) that `At` is of.
  template <typename Range> static unsigned nearest(Range &&Instructions, const DILocation *At) {
    for (Instruction &I : Instructions) {
      const DILocation *Near = I.getDebugLoc();
      if (Near && Near->getLine() != 0 && Near->getInlinedAt() == At->getInlinedAt() &&
          Near->getScope()->getSubprogram() == At->getScope()->getSubprogram())
        return Near->getLine();
    }
    return 0;
  }

  static unsigned lineFor(Instruction &I, const DILocation *At) {
    BasicBlock *Block = I.getParent();
    if (unsigned Line = nearest(make_range(std::next(I.getReverseIterator()), Block->rend()), At))
      return Line;
    for (BasicBlock *Before : predecessors(Block))
      if (unsigned Line = nearest(reverse(*Before), At))
        return Line;
    if (unsigned Line = nearest(make_range(std::next(I.getIterator()), Block->end()), At))
      return Line;
    return At->getScope()->getSubprogram()->getLine();
  }

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    for (Instruction &I : instructions(F)) {
      const DILocation *At = I.getDebugLoc();
      if (isNameless(At) && (I.mayReadOrWriteMemory() || isa<CallBase>(I)))
        I.setDebugLoc(DILocation::get(F.getContext(), lineFor(I, At), 0, At->getScope(),
                                      At->getInlinedAt()));
    }
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// Marks the checks of innermost loops with few of them: their quick paths are to be inlined, see hot.rs.
struct MarkSmallLoops : PassInfoMixin<MarkSmallLoops> {
  static constexpr size_t Few = 24;

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &AM) {
    auto Inline = Attribute::get(F.getContext(), "footrace-inline");
    for (Loop *L : AM.getResult<LoopAnalysis>(F).getLoopsInPreorder()) {
      if (!L->isInnermost())
        continue;
      SmallVector<CallBase *> Checks;
      for (BasicBlock *B : L->blocks())
        for (Instruction &I : *B)
          if (auto *C = dyn_cast<CallBase>(&I))
            if (Function *Callee = C->getCalledFunction();
                Callee && Callee->getName().starts_with("__footrace_"))
              Checks.push_back(C);
      if (Checks.size() <= Few)
        for (CallBase *C : Checks)
          C->addFnAttr(Inline);
    }
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

template <void (*Body)(LLVMModuleRef)>
struct Rust : PassInfoMixin<Rust<Body>> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Body(wrap(&M));
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

extern "C" void footrace_register(PassBuilder &PB) {
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel) {
        // What symbol resolution made unreachable is not worth analysing.
        MPM.addPass(GlobalDCEPass());
        MPM.addPass(createModuleToFunctionPassAdaptor(NameLines()));
        prepare(MPM);
        MPM.addPass(Rust<footrace_early>());
      });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        // The optimiser made one of two again.
        MPM.addPass(createModuleToFunctionPassAdaptor(NameLines()));
        // The quick paths come after the optimiser: until then a check is one call that touches none
        // of the program's memory, which hinders least.
        // Without optimisation they stay calls: such a link is to be quick, not its program.
        if (Level != OptimizationLevel::O0 && footrace_has_hot()) {
          MPM.addPass(createModuleToFunctionPassAdaptor(MarkSmallLoops()));
          MPM.addPass(Rust<footrace_hot>());
          MPM.addPass(AlwaysInlinerPass());
          MPM.addPass(GlobalDCEPass());
          FunctionPassManager FPM;
          FPM.addPass(EarlyCSEPass());
          FPM.addPass(InstCombinePass());
          FPM.addPass(SimplifyCFGPass());
          MPM.addPass(createModuleToFunctionPassAdaptor(std::move(FPM)));
        }
        MPM.addPass(Rust<footrace_late>());
      });
  // A module that lld optimises on its own gets no checks: better no program than one that is
  // silently half checked.
  PB.registerOptimizerEarlyEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel, ThinOrFullLTOPhase Phase) {
        if (Phase == ThinOrFullLTOPhase::ThinLTOPostLink)
          MPM.addPass(Rust<footrace_thin>());
      });
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &MPM,
         ArrayRef<PassBuilder::PipelineElement>) {
        if (Name == "footrace-early") {
          prepare(MPM);
          MPM.addPass(Rust<footrace_early>());
        } else if (Name == "footrace-hot") {
          MPM.addPass(createModuleToFunctionPassAdaptor(MarkSmallLoops()));
          MPM.addPass(Rust<footrace_hot>());
        } else if (Name == "footrace-late")
          MPM.addPass(Rust<footrace_late>());
        else
          return false;
        return true;
      });
}
