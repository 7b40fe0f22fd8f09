; RUN early
; EXPECT call void @__footrace_fence(i32 2)
; EXPECT fence acquire
; EXPECT call void @__footrace_fence(i32 5)
; EXPECT fence seq_cst
; COUNT 2 call void @__footrace_fence
; STAT 2 fences
define void @f() {
  fence acquire
  fence syncscope("singlethread") seq_cst
  fence seq_cst
  ret void
}
