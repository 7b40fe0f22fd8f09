; What cannot be analysed has a check before each access.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @jumps_back
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT store i32 1
; EXPECT define void @computed
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT store i32 1
; A cycle with two entries is no natural loop; nothing is put off beyond a round of it.
; EXPECT define void @two_entries
; EXPECT store i32 1
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT br i1 %d
; STAT 1 fallback: returns twice
; STAT 1 fallback: terminator
; STAT 1 functions analysed
; STAT 1 accesses placed
; STAT 1 accesses not deferred
; STAT 3 write checks
define void @jumps_back(ptr %p) {
  %r = call i32 @setjmp(ptr %p) returns_twice
  store i32 1, ptr %p, align 4
  ret void
}
define void @computed(ptr %p, ptr %to) {
  store i32 1, ptr %p, align 4
  indirectbr ptr %to, [label %a, label %b]
a:
  ret void
b:
  ret void
}
define void @two_entries(ptr %p, i1 %c, i1 %d) {
entry:
  br i1 %c, label %a, label %b
a:
  store i32 1, ptr %p, align 4
  br i1 %d, label %b, label %end
b:
  br i1 %c, label %a, label %end
end:
  ret void
}
declare i32 @setjmp(ptr)
