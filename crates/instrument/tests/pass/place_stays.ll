; Deferred, the two checks would be four: one for each way out. They stay in their block. What is gathered is worth it: bytes side by side are one check.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @many_ways_out
; EXPECT store i32 1, ptr %p
; EXPECT load i32, ptr %q
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void @__footrace_read4(ptr %q)
; EXPECT switch
; EXPECT define void @text
; EXPECT switch
; EXPECT call void @__footrace_read_unaligned4(ptr %p)
; COUNT 1 call void @__footrace_write4
; COUNT 1 call void @__footrace_read4
; COUNT 3 call void @__footrace_read_unaligned4
; STAT 2 accesses not deferred
; STAT 4 read checks
; STAT 1 write checks
; STAT 6 accesses placed
; STAT 3 checks of several accesses
; STAT 2 functions analysed
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
define void @text(ptr %p) {
  %a = load i8, ptr %p, align 1
  %first = getelementptr i8, ptr %p, i64 1
  %b = load i8, ptr %first, align 1
  %second = getelementptr i8, ptr %p, i64 2
  %c = load i8, ptr %second, align 1
  %third = getelementptr i8, ptr %p, i64 3
  %d = load i8, ptr %third, align 1
  %ab = add i8 %a, %b
  %cd = add i8 %c, %d
  %v = add i8 %ab, %cd
  switch i8 %v, label %x [ i8 1, label %y
                           i8 2, label %z ]
x:
  call void @elsewhere()
  ret void
y:
  call void @elsewhere()
  ret void
z:
  ret void
}
declare void @elsewhere()
