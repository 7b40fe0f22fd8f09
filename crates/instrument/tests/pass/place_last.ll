; A loop that may write the pointer that it reads in each round remembers the one that it read last. What it walks through is one range, until
; it reads another one. The program goes on with the pointer that it read.
; RUN early
; PLACEMENT bigfoot
; NEVER volatile
; EXPECT define i64 @walk
; EXPECT = phi ptr [
; EXPECT %p = load ptr, ptr %slice, align 8
; EXPECT icmp ne ptr
; EXPECT changed:
; EXPECT call void @__footrace_read_range(ptr
; EXPECT !footrace.last
; EXPECT load i64, ptr %q, align 8
; EXPECT call void @__footrace_read_range(ptr
; EXPECT define i64 @moved
; COUNT 1 changed:
declare void @call()

define i64 @walk(ptr %slice, ptr %out, i64 %n) sanitize_thread {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = load ptr, ptr %slice, align 8
  %q = getelementptr inbounds i64, ptr %p, i64 %i
  %v = load i64, ptr %q, align 8
  %r = getelementptr inbounds i64, ptr %out, i64 %i
  store i64 %v, ptr %r, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret i64 0
}

; Another one in each round.
define i64 @moved(ptr %slice, i64 %n) sanitize_thread {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = load ptr, ptr %slice, align 8
  store i8 0, ptr %p, align 1
  %q = getelementptr inbounds i8, ptr %p, i64 1
  store ptr %q, ptr %slice, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret i64 0
}

; Nothing is put off beyond the call.
define i64 @calls(ptr %slice, i64 %n) sanitize_thread {
entry:
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %p = load ptr, ptr %slice, align 8
  %q = getelementptr inbounds i64, ptr %p, i64 %i
  store i64 0, ptr %q, align 8
  call void @call()
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %end
end:
  ret i64 0
}
