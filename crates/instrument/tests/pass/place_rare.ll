; A loop that calls somebody in a few rounds only is one without the call, inside of another: what it walks through is one range until the call.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @push
; EXPECT loop.outer:
; EXPECT call void @__footrace_write_range(ptr
; EXPECT call void @grow(
; EXPECT define void @grow_often
; EXPECT call void @__footrace_write4(ptr
; EXPECT call void @call(
; COUNT 2 call void @__footrace_write_range(
declare void @grow(ptr) cold
declare void @call(ptr)

define void @push(ptr %vector, ptr %first, i64 %full, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %rest ]
  %p = phi ptr [ %first, %entry ], [ %now, %rest ]
  %is_full = icmp eq i64 %i, %full
  br i1 %is_full, label %rare, label %rest
rare:
  call void @grow(ptr %vector)
  %moved = call ptr @moved()
  br label %rest
rest:
  %now = phi ptr [ %p, %loop ], [ %moved, %rare ]
  %at = getelementptr inbounds i32, ptr %now, i64 %i
  store i32 1, ptr %at, align 4
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
declare ptr @moved() memory(none) nounwind willreturn

; Nothing says that it is rare.
define void @grow_often(ptr %vector, ptr %first, i64 %full, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %rest ]
  %is_full = icmp eq i64 %i, %full
  br i1 %is_full, label %often, label %rest
often:
  call void @call(ptr %vector)
  br label %rest
rest:
  %at = getelementptr inbounds i32, ptr %first, i64 %i
  store i32 1, ptr %at, align 4
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
