; The constructor comes before the program's own, and what was used stays so.
; RUN early
; EXPECT @llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @footrace.module_init, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @own, ptr null }]
; EXPECT call void @__footrace_init(ptr getelementptr (i8, ptr @footrace.note, i64 24))
; COUNT 1 Footrace\00\00\00\00footrace abi=2 placement=all\00
; COUNT 1 @llvm.used = appending global [2 x ptr] [ptr @kept, ptr @footrace.note], section "llvm.metadata"
; COUNT 1 define internal void @footrace.module_init()
@kept = global i32 0
@llvm.used = appending global [1 x ptr] [ptr @kept], section "llvm.metadata"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @own, ptr null }]
define internal void @own() {
  ret void
}
