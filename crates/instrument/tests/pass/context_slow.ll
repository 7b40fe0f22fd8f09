; A function that leaves for nothing but checks finds what it needs; after a call that leaves it, what it found is stored again, where a check
; may follow.
; RUN late
; EXPECT define void @f
; EXPECT slow:
; EXPECT call void @__footrace_read4_slow
; EXPECT ret void
; EXPECT define internal void @then
; EXPECT load i64, ptr @__footrace_context
; EXPECT store i64
; EXPECT call void @other()
; EXPECT store i64 %1, ptr @__footrace_context
; EXPECT br i1
; EXPECT call void @__footrace_read4_outlined
; EXPECT store i64
; EXPECT call void @other()
; EXPECT ret void
; EXPECT define internal void @caught
; EXPECT invoke void @other()
; EXPECT fine:
; EXPECT ret void
; EXPECT lands:
; EXPECT landingpad
; EXPECT store i64 %1, ptr @__footrace_context
; EXPECT call void @__footrace_read4_outlined
; COUNT 2 load i64, ptr @__footrace_context
; COUNT 3 mul i64
; COUNT 5 store i64
define void @f(ptr %p, i1 %c) {
  br i1 %c, label %slow, label %quick
slow:
  call void @__footrace_read4_slow(ptr %p)
  br label %quick
quick:
  %a = load i32, ptr %p, align 4
  ret void
}
define internal void @then(ptr %p, i1 %c) {
  call void @other()
  br i1 %c, label %checks, label %ends
checks:
  call void @__footrace_read4_outlined(ptr %p)
  br label %ends
ends:
  call void @other()
  ret void
}
define internal void @caught(ptr %p) personality ptr @personality {
  invoke void @other() to label %fine unwind label %lands
fine:
  ret void
lands:
  %pad = landingpad { ptr, i32 } cleanup
  call void @__footrace_read4_outlined(ptr %p)
  resume { ptr, i32 } %pad
}
declare void @other()
declare void @__footrace_read4_slow(ptr)
declare void @__footrace_read4_outlined(ptr)
declare i32 @personality(...)
