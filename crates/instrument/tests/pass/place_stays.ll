; Deferred, the two checks would be four: one for each way out. They stay where they are.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @many_ways_out
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT store i32 1, ptr %p
; EXPECT call void @__footrace_read4(ptr %q)
; EXPECT load i32, ptr %q
; EXPECT switch
; COUNT 1 call void @__footrace_write4
; COUNT 1 call void @__footrace_read4
; STAT 2 accesses not deferred
; STAT 1 read checks
; STAT 1 write checks
; STAT 2 accesses placed
; STAT 1 functions analysed
define void @many_ways_out(ptr %p, ptr %q) {
  store i32 1, ptr %p, align 4
  %v = load i32, ptr %q, align 4
  switch i32 %v, label %a [ i32 1, label %b
                            i32 2, label %c ]
a:
  call void @elsewhere()
  ret void
b:
  call void @elsewhere()
  ret void
c:
  ret void
}
declare void @elsewhere()
