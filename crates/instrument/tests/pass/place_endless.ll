; A loop that may not end commits its checks after 64 rounds, in the first one if it calls somebody, and ever more rarely.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @spins
; EXPECT store i32 1, ptr
; EXPECT store i32 63, ptr
; EXPECT !prof
; EXPECT , 1048575
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT load volatile i32, ptr %p
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT ret void
; EXPECT define void @both
; COUNT 2 call void @__footrace_read8(ptr %r)
; COUNT 2 call void @__footrace_read4(ptr %q)
; EXPECT define void @waits
; EXPECT store i32 0, ptr
; EXPECT store i32 63, ptr
; STAT 8 read checks
; STAT 4 accesses placed
; STAT 3 loops that commit
; STAT 3 functions analysed
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
; A round may take long.
declare i32 @abs(i32)
define void @waits(ptr %p) {
entry:
  br label %loop
loop:
  %v = load volatile i32, ptr %p, align 4
  %w = call i32 @abs(i32 %v)
  %go = icmp eq i32 %w, 0
  br i1 %go, label %loop, label %end
end:
  ret void
}
