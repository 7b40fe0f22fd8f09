// The part of a pass plugin that has to be C++: module passes that hand the module to Rust, and
// their places in the pipeline. Everything else is in lib.rs.
#include "llvm-c/Core.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

extern "C" void footrace_early(LLVMModuleRef);
extern "C" void footrace_late(LLVMModuleRef);
extern "C" void footrace_hot(LLVMModuleRef);
extern "C" void footrace_thin(LLVMModuleRef);
extern "C" bool footrace_has_hot();

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
        if (Name == "footrace-early")
          MPM.addPass(Rust<footrace_early>());
        else if (Name == "footrace-hot")
          MPM.addPass(Rust<footrace_hot>());
        else if (Name == "footrace-late")
          MPM.addPass(Rust<footrace_late>());
        else
          return false;
        return true;
      });
}
