; Where every way leads to an end that is no return, a check asks the runtime at once.
; RUN early,hot
; HOT hot_checks.ll
; EXPECT define void @f
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT panics:
; EXPECT call preserve_mostcc void @__footrace_read4_slow(ptr %q)
; EXPECT lands:
; EXPECT call preserve_mostcc void @__footrace_read4_slow(ptr %r)
; EXPECT define void @rare
; EXPECT call preserve_mostcc void @__footrace_read4_slow(ptr %p)
; EXPECT define internal void @__footrace_read4
define void @f(ptr %p, ptr %q, ptr %r) personality ptr @personality {
  %a = load i32, ptr %p, align 4
  %c = icmp eq i32 %a, 0
  br i1 %c, label %panics, label %goes
panics:
  %b = load i32, ptr %q, align 4
  br label %ends
ends:
  call void @panic(i32 %b)
  unreachable
goes:
  invoke void @g() to label %done unwind label %lands
lands:
  %pad = landingpad { ptr, i32 } cleanup
  %d = load i32, ptr %r, align 4
  call void @drop(i32 %d)
  resume { ptr, i32 } %pad
done:
  ret void
}
define void @rare(ptr %p) cold {
  %a = load i32, ptr %p, align 4
  call void @drop(i32 %a)
  ret void
}
declare void @g()
declare void @drop(i32)
declare void @panic(i32)
declare i32 @personality(...)
