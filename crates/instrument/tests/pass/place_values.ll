; A slice behind a pointer that nobody writes through: its data pointer and length are read in each round, behind a test that may leave
; the loop. The values are fetched before the loop, which is no access; the reads are checked where the loop is left, if there was a round.
; RUN early
; PLACEMENT bigfoot
; NEVER volatile
; NEVER footrace.kept
; EXPECT define i64 @sum
; EXPECT load i64, ptr %length, align 8, !footrace.silent
; EXPECT load ptr, ptr %slice, align 8, !footrace.silent
; EXPECT phi i64
; EXPECT load i64, ptr %length
; EXPECT load ptr, ptr %slice
; EXPECT br i1 %last,
; EXPECT call void @__footrace_read_range(ptr
; EXPECT call void @__footrace_read16(ptr
; EXPECT panic:
; EXPECT call void @__footrace_read_range(ptr
; EXPECT call void @__footrace_read_range(ptr %slice
; EXPECT call void @__footrace_read8(ptr
; EXPECT call void @abort
; EXPECT define i64 @written
; EXPECT phi i64
; EXPECT load ptr, ptr %slice
; COUNT 2 !footrace.silent
; STAT 3 read checks
; STAT 5 read range checks
; STAT 1 write range checks
; STAT 6 accesses placed
; STAT 3 checks of several accesses
; STAT 2 functions analysed
declare void @abort() noreturn nounwind

define i64 @sum(ptr noalias readonly align 8 dereferenceable(16) %slice, i64 %n) sanitize_thread {
entry:
  %length = getelementptr inbounds i8, ptr %slice, i64 8
  br label %early
early:
  br label %test
test:
  %i = phi i64 [ 0, %early ], [ %next, %body ]
  %total = phi i64 [ 0, %early ], [ %more, %body ]
  %last = icmp sge i64 %i, %n
  br i1 %last, label %leave, label %bounds
bounds:
  %l = load i64, ptr %length, align 8
  %inside = icmp slt i64 %i, %l
  br i1 %inside, label %body, label %panic
body:
  %p = load ptr, ptr %slice, align 8
  %q = getelementptr inbounds i64, ptr %p, i64 %i
  %v = load i64, ptr %q, align 8
  %more = add i64 %total, %v
  %next = add nuw nsw i64 %i, 1
  br label %test
leave:
  ret i64 %total
panic:
  call void @abort()
  unreachable
}

; The loop may write the pointer that it reads: its value is not known before (place_last.ll).
define i64 @written(ptr align 8 dereferenceable(16) %slice, ptr %out, i64 %n) sanitize_thread {
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %last = icmp sge i64 %i, %n
  br i1 %last, label %leave, label %body
body:
  %p = load ptr, ptr %slice, align 8
  %q = getelementptr inbounds i64, ptr %p, i64 %i
  %v = load i64, ptr %q, align 8
  %r = getelementptr inbounds i64, ptr %out, i64 %i
  store i64 %v, ptr %r, align 8
  %next = add nuw nsw i64 %i, 1
  br label %test
leave:
  ret i64 %i
}
