; Nothing but slow paths: the quick path stays as it was.
; RUN late
; EXPECT define void @f
; EXPECT br i1
; EXPECT slow:
; EXPECT load i64, ptr @__footrace_context
; EXPECT store i64
; EXPECT call void @__footrace_read4_slow
; EXPECT store i64
; EXPECT br label %quick
; EXPECT quick:
; EXPECT ret void
; COUNT 2 store i64
define void @f(ptr %p, i1 %c) {
  br i1 %c, label %slow, label %quick
slow:
  call void @__footrace_read4_slow(ptr %p)
  br label %quick
quick:
  %a = load i32, ptr %p, align 4
  ret void
}
declare void @__footrace_read4_slow(ptr)
