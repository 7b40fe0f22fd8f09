; The program counts: accesses as they are, checks as they were placed. Blocks that only lead to checks count these alone.
; RUN early
; PLACEMENT bigfoot
; COUNTING
; EXPECT @__footrace_counts = external thread_local
; EXPECT define void @loop
; EXPECT loop:
; EXPECT phi i64
; EXPECT load volatile i64, ptr getelementptr (i8, ptr @__footrace_counts, i64 8)
; EXPECT store i32
; EXPECT br i1 %more
; EXPECT load volatile i64, ptr getelementptr (i8, ptr @__footrace_counts, i64 40)
; EXPECT call void @__footrace_write_range
; EXPECT define void @pad
; EXPECT landingpad
; EXPECT cleanup
; EXPECT load volatile i64, ptr @__footrace_counts
; EXPECT call void @__footrace_read4
; NEVER define void @__footrace_counts
define void @loop(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr inbounds i32, ptr %a, i64 %i
  store i32 1, ptr %p, align 4
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
declare void @unknown()
declare i32 @__gxx_personality_v0(...)
define void @pad(ptr %p) personality ptr @__gxx_personality_v0 {
  invoke void @unknown() to label %fine unwind label %caught
fine:
  ret void
caught:
  %e = landingpad { ptr, i32 } cleanup
  %v = load volatile i32, ptr %p, align 4
  resume { ptr, i32 } %e
}
