; RUN early
; EXPECT define void @before
; EXPECT define void @after
; EXPECT define void @part_of_it
; EXPECT define void @not_across_a_call
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT define void @not_across_an_acquire
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT define void @not_across_a_fence
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT define void @not_across_assembly
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT define void @not_more_than_the_write
; EXPECT call void @__footrace_read8(ptr %p)
; EXPECT define void @not_elsewhere
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT define void @not_in_another_block
; EXPECT call void @__footrace_read4(ptr %p)
; COUNT 6 call void @__footrace_read4
; STAT 3 skipped: covered by a write
; STAT 7 read checks
; STAT 10 write checks
; STAT 1 atomic operations
; STAT 1 fences
; STAT 1 inline assembly
define void @before(ptr %p) {
  %a = load i32, ptr %p, align 4
  store i32 1, ptr %p, align 4
  ret void
}
define void @after(ptr %p) {
  store i32 1, ptr %p, align 4
  %a = load volatile i32, ptr %p, align 4
  ret void
}
define void @part_of_it(ptr %p) {
  %q = getelementptr { i32, i32 }, ptr %p, i64 0, i32 1
  %a = load i32, ptr %q, align 4
  %b = call double @llvm.sqrt.f64(double 2.0)
  store i64 1, ptr %p, align 8
  ret void
}
define void @not_across_a_call(ptr %p) {
  %a = load i32, ptr %p, align 4
  call void @unknown()
  store i32 1, ptr %p, align 4
  ret void
}
define void @not_across_an_acquire(ptr %p, ptr %flag) {
  %a = load i32, ptr %p, align 4
  %f = load atomic i32, ptr %flag acquire, align 4
  store i32 1, ptr %p, align 4
  ret void
}
define void @not_across_a_fence(ptr %p) {
  %a = load i32, ptr %p, align 4
  fence acquire
  store i32 1, ptr %p, align 4
  ret void
}
define void @not_across_assembly(ptr %p) {
  %a = load i32, ptr %p, align 4
  call void asm sideeffect "", "~{memory}"()
  store i32 1, ptr %p, align 4
  ret void
}
define void @not_more_than_the_write(ptr %p) {
  %a = load i64, ptr %p, align 8
  store i32 1, ptr %p, align 4
  ret void
}
define void @not_elsewhere(ptr %p, ptr %q) {
  %a = load i32, ptr %p, align 4
  store i32 1, ptr %q, align 4
  ret void
}
define void @not_in_another_block(ptr %p, i1 %c) {
  %a = load i32, ptr %p, align 4
  br i1 %c, label %yes, label %no
yes:
  store i32 1, ptr %p, align 4
  ret void
no:
  ret void
}
declare void @unknown()
declare double @llvm.sqrt.f64(double)
