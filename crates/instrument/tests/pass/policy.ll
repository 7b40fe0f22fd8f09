; RUN early
; COUNT 1 call void @__footrace_write4
; COUNT 1 call void @__footrace_atomic_begin
; EXPECT define void @usual
; EXPECT call void @__footrace_write4
; NEVER sanitize_thread
; EXPECT Function Attrs: noinline optnone uwtable
; EXPECT define void @_RNvNtCsjrHSEGnQ3l9_3std12backtrace_rs4lock(
; STAT 4 functions left alone
; STAT 1 functions, synchronisation only
; STAT 1 write checks
; STAT 1 atomic operations
@chosen = ifunc void (ptr), ptr @resolver

define void @usual(ptr %p) sanitize_thread {
  store i32 1, ptr %p, align 4
  ret void
}
define void @no_frame() naked {
  store i32 1, ptr null, align 4
  unreachable
}
define void @asked_not_to(ptr %p) disable_sanitizer_instrumentation {
  store i32 1, ptr %p, align 4
  ret void
}
define available_externally void @copy(ptr %p) {
  store i32 1, ptr %p, align 4
  ret void
}
define ptr @resolver(ptr %p) {
  store i32 1, ptr %p, align 4
  ret ptr @usual
}
define void @_RNvNtCsjrHSEGnQ3l9_3std12backtrace_rs4lock(ptr %p) inlinehint {
  store i32 1, ptr %p, align 4
  store atomic i32 1, ptr %p release, align 4
  ret void
}
