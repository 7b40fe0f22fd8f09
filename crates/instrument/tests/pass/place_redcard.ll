; RedCard: a check at each access, unless an earlier one in the same release-free span stands for it.
; RUN early
; PLACEMENT redcard
; EXPECT define void @twice
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT store i32 1, ptr %p
; EXPECT load i32, ptr %p
; EXPECT store i32 2, ptr %p
; EXPECT call void @__footrace_atomic_begin
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT store i32 3, ptr %p
; STAT 2 write checks
; STAT 1 atomic operations
; STAT 4 accesses placed
; STAT 2 accesses covered by an earlier check
; STAT 1 functions analysed
define void @twice(ptr %p, ptr %q) {
  store i32 1, ptr %p, align 4
  %v = load i32, ptr %p, align 4
  store i32 2, ptr %p, align 4
  store atomic i32 1, ptr %q release, align 4
  store i32 3, ptr %p, align 4
  ret void
}
