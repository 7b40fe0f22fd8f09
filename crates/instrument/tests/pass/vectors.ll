; RUN early
; EXPECT call void @__footrace_read16(ptr %p)
; EXPECT call void @__footrace_read32(ptr %p)
; EXPECT call void @__footrace_write_range(ptr %q, i64 64)
; EXPECT call void @__footrace_write_range(ptr %q, i64 12)
; EXPECT call void @__footrace_write8(ptr %q)
; STAT 2 read checks
; STAT 1 write checks
; STAT 2 write range checks
define void @f(ptr %p, ptr %q, <16 x i32> %v, <3 x i32> %w) {
  %a = load <2 x i64>, ptr %p, align 16
  %b = load <8 x float>, ptr %p, align 32
  store <16 x i32> %v, ptr %q, align 64
  store <3 x i32> %w, ptr %q, align 16
  store <2 x i32> zeroinitializer, ptr %q, align 8
  ret void
}
