; A loop that may not end commits its checks in the first round and now and then.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @spins
; EXPECT , 4095
; EXPECT !prof
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT load volatile i32, ptr %p
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT ret void
; EXPECT define void @both
; COUNT 2 call void @__footrace_read8(ptr %r)
; COUNT 2 call void @__footrace_read4(ptr %q)
; STAT 6 read checks
; STAT 3 accesses placed
; STAT 2 loops that commit
; STAT 2 functions analysed
define void @spins(ptr %p) {
entry:
  br label %loop
loop:
  %v = load volatile i32, ptr %p, align 4
  %go = icmp eq i32 %v, 0
  br i1 %go, label %loop, label %end
end:
  ret void
}
; What is new in each round is checked in each round, on the same edge.
define void @both(ptr %r) {
entry:
  br label %loop
loop:
  %q = load volatile ptr, ptr %r, align 8
  %v = load volatile i32, ptr %q, align 4
  %go = icmp eq i32 %v, 0
  br i1 %go, label %loop, label %end
end:
  ret void
}
