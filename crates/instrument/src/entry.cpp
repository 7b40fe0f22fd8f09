// The part of a pass plugin that has to be C++: two module passes that hand the module to Rust, and
// their places in the pipeline. Everything else is in lib.rs.
#include "llvm-c/Core.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

using namespace llvm;

extern "C" void footrace_early(LLVMModuleRef);
extern "C" void footrace_late(LLVMModuleRef);
extern "C" void footrace_thin(LLVMModuleRef);

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
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        // What symbol resolution made unreachable is not worth analysing.
        MPM.addPass(GlobalDCEPass());
        MPM.addPass(Rust<footrace_early>());
        // Without optimisation nobody else inlines the hot checks.
        if (Level == OptimizationLevel::O0)
          MPM.addPass(AlwaysInlinerPass());
      });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel) {
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
        else if (Name == "footrace-late")
          MPM.addPass(Rust<footrace_late>());
        else
          return false;
        return true;
      });
}
