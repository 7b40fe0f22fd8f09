; Hot checks for hot.ll.
define void @__footrace_read4(ptr %p) noinline {
  %a = ptrtoint ptr %p to i64
  %c = icmp eq i64 %a, 0
  br i1 %c, label %quick, label %slow
slow:
  call void @__footrace_read4_slow(ptr %p)
  br label %quick
quick:
  ret void
}
declare void @__footrace_read4_slow(ptr)
