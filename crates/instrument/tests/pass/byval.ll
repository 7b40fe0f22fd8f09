; The call copies the argument, and the copy is the callee's own.
; RUN early
; EXPECT define void @caller
; EXPECT call void @__footrace_read24(ptr %p)
; EXPECT call void @callee
; EXPECT define void @callee
; NEVER call void @__footrace_write4(ptr %copy)
; STAT 1 read checks
; STAT 1 skipped: private stack slot
define void @caller(ptr %p) {
  call void @callee(ptr byval([3 x i64]) align 8 %p)
  ret void
}
define void @callee(ptr byval([3 x i64]) align 8 %copy) {
  store i32 1, ptr %copy, align 4
  ret void
}
