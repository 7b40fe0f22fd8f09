; Loops: their accesses are one range, checked after them.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @up
; EXPECT br i1 %more
; EXPECT call void @__footrace_write_range(ptr %a, i64
; EXPECT ret void
; EXPECT define void @unsigned
; EXPECT br i1 %more
; EXPECT call void @__footrace_read_range(ptr %a, i64
; EXPECT define i64 @pointer
; EXPECT br i1 %more
; EXPECT call void @__footrace_read_range(ptr %begin, i64
; EXPECT define void @stride
; EXPECT br i1 %more
; EXPECT call void @__footrace_write_strided(ptr %a, i32 8, i64
; EXPECT define void @down
; EXPECT call void @__footrace_write_range(ptr
; EXPECT define i64 @search
; EXPECT call void @__footrace_read_range(ptr %a, i64
; NEVER @__footrace_write4
; NEVER @__footrace_read4
; NEVER @__footrace_read8
; NEVER @__footrace_write8
define void @up(ptr %a, i64 %n) {
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
define void @unsigned(ptr %a, i64 %n) {
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr inbounds i32, ptr %a, i64 %i
  %v = load volatile i32, ptr %p, align 4
  %next = add nuw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
define i64 @pointer(ptr %begin, ptr %end) {
entry:
  %none = icmp eq ptr %begin, %end
  br i1 %none, label %exit, label %loop
loop:
  %p = phi ptr [ %begin, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %add, %loop ]
  %v = load i64, ptr %p, align 8
  %add = add i64 %sum, %v
  %next = getelementptr inbounds i8, ptr %p, i64 8
  %more = icmp ne ptr %next, %end
  br i1 %more, label %loop, label %exit
exit:
  %r = phi i64 [ 0, %entry ], [ %add, %loop ]
  ret i64 %r
}
define void @stride(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr inbounds [3 x i64], ptr %a, i64 %i
  store i64 1, ptr %p, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
define void @down(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i64 [ %n, %entry ], [ %next, %loop ]
  %next = add nsw i64 %i, -1
  %p = getelementptr inbounds i64, ptr %a, i64 %next
  store i64 1, ptr %p, align 8
  %more = icmp sgt i64 %next, 0
  br i1 %more, label %loop, label %end
end:
  ret void
}
define i64 @search(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %p = getelementptr inbounds i32, ptr %a, i64 %i
  %v = load i32, ptr %p, align 4
  %found = icmp eq i32 %v, 7
  br i1 %found, label %end, label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  %r = phi i64 [ %i, %loop ], [ -1, %latch ]
  ret i64 %r
}
