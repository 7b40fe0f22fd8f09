; The program tells of its accesses where they are, and of its checks where they were placed.
; RUN early
; PLACEMENT bigfoot
; WITNESSING
; EXPECT loop:
; EXPECT call void @__footrace_told(i32 1)
; EXPECT call void @__footrace_write4
; EXPECT call void @__footrace_told(i32 0)
; EXPECT store i32 1
; EXPECT br i1 %more
; EXPECT call void @__footrace_told(i32 2)
; EXPECT call void @__footrace_write_range
; EXPECT call void @__footrace_told(i32 0)
; COUNT 4 call void @__footrace_told(i32
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
