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
; STAT 2 read checks
; STAT 1 accesses placed
; STAT 1 loops that commit
; STAT 1 functions analysed
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
