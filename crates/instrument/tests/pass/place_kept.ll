; A loop is unrolled before it is analysed; the values of its first rounds are not used, but they are read.
; RUN early
; PLACEMENT bigfoot
; NEVER volatile
; NEVER footrace.kept
; EXPECT define i64 @last
; EXPECT call void @__footrace_read24(ptr
; EXPECT ret i64
; STAT 1 read checks
; STAT 3 accesses placed
; STAT 1 checks of several accesses
; STAT 1 functions analysed
define i64 @last(ptr %a) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %r = phi i64 [ 0, %entry ], [ %s, %loop ]
  %p = getelementptr inbounds i64, ptr %a, i64 %i
  %v = load i64, ptr %p, align 8
  %is = icmp eq i64 %i, 2
  %s = select i1 %is, i64 %v, i64 %r
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 3
  br i1 %more, label %loop, label %end
end:
  ret i64 %s
}
