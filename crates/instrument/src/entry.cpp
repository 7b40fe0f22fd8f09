// The part of a pass plugin that has to be C++: module passes that hand the module to Rust, and
// their places in the pipeline. Everything else is in lib.rs.
#include "llvm-c/Core.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;

extern "C" void footrace_early(LLVMModuleRef);
extern "C" void footrace_late(LLVMModuleRef);
extern "C" void footrace_hot(LLVMModuleRef);
extern "C" void footrace_thin(LLVMModuleRef);
extern "C" bool footrace_has_hot();
extern "C" bool footrace_moves_checks();

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

struct KeepLoads : PassInfoMixin<KeepLoads> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    for (Instruction &I : instructions(F))
      if (auto *Load = dyn_cast<LoadInst>(&I))
        if (Load->isSimple() &&
            !isa<AllocaInst>(getUnderlyingObject(Load->getPointerOperand()))) {
          Load->setVolatile(true);
          Load->setMetadata(Kept, MDNode::get(F.getContext(), {}));
        }
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
  FPM.addPass(createFunctionToLoopPassAdaptor(LoopRotatePass()));
  LoopPassManager LPM;
  LPM.addPass(IndVarSimplifyPass());
  // Fields that a short loop visits become accesses of the loop around it.
  LPM.addPass(LoopFullUnrollPass());
  FPM.addPass(createFunctionToLoopPassAdaptor(std::move(LPM)));
  FPM.addPass(ReleaseLoads());
  MPM.addPass(createModuleToFunctionPassAdaptor(std::move(FPM)));
}

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
        prepare(MPM);
        MPM.addPass(Rust<footrace_early>());
      });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        // The quick paths come after the optimiser: until then a check is one call that touches none
        // of the program's memory, which hinders least.
        // Without optimisation they stay calls: such a link is to be quick, not its program.
        if (Level != OptimizationLevel::O0 && footrace_has_hot()) {
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
        } else if (Name == "footrace-hot")
          MPM.addPass(Rust<footrace_hot>());
        else if (Name == "footrace-late")
          MPM.addPass(Rust<footrace_late>());
        else
          return false;
        return true;
      });
}
