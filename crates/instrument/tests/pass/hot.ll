; Hot checks become part of the module; the others stay the runtime's.
; RUN early,hot
; HOT hot_checks.ll
; EXPECT define void @f
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT define internal void @__footrace_read4(ptr
; EXPECT load i64, ptr @__footrace_tls
; EXPECT call preserve_mostcc void @__footrace_read4_slow(ptr %p)
; COUNT 0 call ptr @__footrace_own
; COUNT 0 nonlazybind
; COUNT 1 @__footrace_tls = external thread_local(initialexec) global i64
; EXPECT alwaysinline
; COUNT 1 declare void @__footrace_write4(ptr
; COUNT 0 noinline
define void @f(ptr %p, ptr %q) {
  %a = load i32, ptr %p, align 4
  call void @g()
  store i32 %a, ptr %p, align 4
  ret void
}
declare void @g()
