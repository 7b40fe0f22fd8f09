; A loop that accesses something in some rounds only, by a test of its counter, is divided: one range for all of them.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @below
; EXPECT call void @__footrace_write_range(ptr
; EXPECT ret void
; EXPECT define void @uncounted
; EXPECT call void @__footrace_write4(ptr
; EXPECT ret void
; NEVER @__footrace_read4
define void @below(ptr %a, ptr %b, i64 %n, i64 %m) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %in = icmp slt i64 %i, %m
  br i1 %in, label %then, label %latch
then:
  %p = getelementptr inbounds i32, ptr %a, i64 %i
  store i32 1, ptr %p, align 4
  br label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
; Nothing is known about when.
define void @uncounted(ptr %a, i64 %n, i64 %m) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %k = phi i64 [ 1, %entry ], [ %new, %latch ]
  %new = mul i64 %k, %m
  %in = icmp slt i64 %new, %i
  br i1 %in, label %then, label %latch
then:
  %p = getelementptr inbounds i32, ptr %a, i64 %i
  store i32 1, ptr %p, align 4
  br label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
