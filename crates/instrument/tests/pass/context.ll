; RUN late
; EXPECT @__footrace_context = external thread_local(initialexec) global i64
; EXPECT define void @visible
; EXPECT alloca
; EXPECT load i64, ptr @__footrace_context
; EXPECT xor i64
; EXPECT mul i64
; EXPECT store i64
; EXPECT call void @other()
; EXPECT xor i64
; EXPECT store i64
; EXPECT call void %p()
; EXPECT store i64 %1, ptr @__footrace_context
; EXPECT ret void
; EXPECT define internal void @only_called
; EXPECT call void @other()
; EXPECT ret void
; EXPECT define internal void @address_taken
; EXPECT call void @other()
; EXPECT store i64 %1, ptr @__footrace_context
; EXPECT ret void
; EXPECT define void @leaf
; EXPECT define void @thrown
; EXPECT store i64
; EXPECT invoke void @other()
; EXPECT define void @jumps
; EXPECT store i64
; EXPECT musttail call void @other()
; EXPECT ret void
; COUNT 5 load i64, ptr @__footrace_context
; COUNT 7 mul i64
; COUNT 10 store i64
@table = global ptr @address_taken

define void @visible(ptr %p) {
  %slot = alloca i32, align 4
  store i32 1, ptr %slot, align 4
  call void @other()
  call void asm sideeffect "", ""()
  %x = call double @llvm.sqrt.f64(double 2.0)
  call void %p()
  call void @only_called()
  ret void
}
define internal void @only_called() {
  call void @other()
  ret void
}
define internal void @address_taken() {
  call void @other()
  ret void
}
define void @leaf(ptr %p) {
  store i32 1, ptr %p, align 4
  ret void
}
define void @thrown() personality ptr @personality {
  invoke void @other() to label %fine unwind label %caught
fine:
  ret void
caught:
  %a = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %a
}
define void @jumps() {
  musttail call void @other()
  ret void
}
declare void @other()
declare i32 @personality(...)
declare double @llvm.sqrt.f64(double)
