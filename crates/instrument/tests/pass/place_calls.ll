; Calls: what they may do is known from their bodies, or from a list, or not at all.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @harmless
; EXPECT call void @adds
; EXPECT call double @sin
; EXPECT call void asm sideeffect ""
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT ret void
; EXPECT define void @unknown
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void @elsewhere
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT define void @locks
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void @takes
; EXPECT call void @__footrace_read4(ptr %q)
; EXPECT define void @frees
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void @free
; EXPECT define void @leaves
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void @exit
; EXPECT define void @must_tail
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT musttail call void @adds
; EXPECT ret void
; EXPECT define void @pointer
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void %f()
; EXPECT define void @traps
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void @llvm.trap
define void @adds(ptr %p) {
  ret void
}
define void @takes(ptr %m) {
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret void
}
define void @harmless(ptr %p) {
  store i32 1, ptr %p, align 4
  call void @adds(ptr %p)
  %s = call double @sin(double 1.0)
  call void asm sideeffect "", ""()
  store i32 2, ptr %p, align 4
  ret void
}
define void @unknown(ptr %p) {
  store i32 1, ptr %p, align 4
  call void @elsewhere()
  store i32 2, ptr %p, align 4
  ret void
}
define void @locks(ptr %p, ptr %q, ptr %m) {
  store i32 1, ptr %p, align 4
  call void @takes(ptr %m)
  %v = load i32, ptr %q, align 4
  ret void
}
define void @frees(ptr %p) {
  store i32 1, ptr %p, align 4
  call void @free(ptr %p)
  ret void
}
define void @leaves(ptr %p) {
  store i32 1, ptr %p, align 4
  call void @exit(i32 0)
  unreachable
}
define void @must_tail(ptr %p) {
  store i32 1, ptr %p, align 4
  musttail call void @adds(ptr %p)
  ret void
}
define void @pointer(ptr %p, ptr %f) {
  store i32 1, ptr %p, align 4
  call void %f()
  ret void
}
declare void @elsewhere()
declare double @sin(double)
declare i32 @pthread_mutex_lock(ptr)
declare void @free(ptr)
declare void @exit(i32)
define void @traps(ptr %p) {
  store i32 1, ptr %p, align 4
  call void @llvm.trap()
  unreachable
}
declare void @llvm.trap()
