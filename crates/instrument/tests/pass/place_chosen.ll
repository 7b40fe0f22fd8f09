; The largest element so far is one that the loop has been at, or the first: no check of its own. An element whose index is not known may be in the row that is checked
; at the same place: then it has none either.
; RUN early
; PLACEMENT bigfoot
; EXPECT define i64 @largest
; EXPECT call void @__footrace_read_range(ptr
; EXPECT ret i64
; EXPECT define void @pivot
; EXPECT call void @__footrace_write_range(ptr
; EXPECT icmp uge i64
; EXPECT call void @__footrace_write8(ptr
; EXPECT ret void
define i64 @largest(ptr %a, i64 %n) sanitize_thread {
entry:
  br label %loop
loop:
  %i = phi i64 [ 1, %entry ], [ %next, %loop ]
  %best = phi i64 [ 0, %entry ], [ %chosen, %loop ]
  %p = getelementptr inbounds i64, ptr %a, i64 %i
  %x = load i64, ptr %p, align 8
  %q = getelementptr inbounds i64, ptr %a, i64 %best
  %y = load i64, ptr %q, align 8
  %is = icmp sgt i64 %x, %y
  %chosen = select i1 %is, i64 %i, i64 %best
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i64 %chosen
}
define void @pivot(ptr %a, i64 %n, i64 %at) sanitize_thread {
entry:
  %q = getelementptr inbounds i64, ptr %a, i64 %at
  store i64 7, ptr %q, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr inbounds i64, ptr %a, i64 %i
  store i64 %i, ptr %p, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
