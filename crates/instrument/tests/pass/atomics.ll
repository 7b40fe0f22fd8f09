; RUN early
; EXPECT call void @__footrace_atomic_begin(ptr %p, i32 4, i32 0, i32 2)
; EXPECT load atomic i32
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 4, i32 0, i32 2)
; EXPECT call void @__footrace_atomic_begin(ptr %p, i32 8, i32 1, i32 5)
; EXPECT store atomic i64
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 8, i32 1, i32 5)
; EXPECT define void @relaxed
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 1, i32 0, i32 0)
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 4, i32 1, i32 3)
; EXPECT define i1 @exchange
; EXPECT call void @__footrace_atomic_begin(ptr %p, i32 16, i32 3, i32 4)
; EXPECT cmpxchg weak
; EXPECT extractvalue { i128, i1 } %a, 1
; EXPECT , i32 2, i32 0
; EXPECT , i32 4, i32 2
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 16, i32 %
; EXPECT define void @every_kind
; COUNT 19 atomicrmw
; COUNT 19 call void @__footrace_atomic_end(ptr %p, i32 4, i32 2, i32 4)
; STAT 24 atomic operations
define void @ordered(ptr %p) {
  %a = load atomic i32, ptr %p acquire, align 4
  store atomic i64 1, ptr %p seq_cst, align 8
  ret void
}

define void @relaxed(ptr %p) {
  %a = load atomic volatile i8, ptr %p unordered, align 1
  store atomic float 1.0, ptr %p release, align 4
  ret void
}

; A failed exchange is a load with the order for failure.
define i1 @exchange(ptr %p, i128 %x, i128 %y) {
  %a = cmpxchg weak ptr %p, i128 %x, i128 %y acq_rel acquire, align 16
  %b = extractvalue { i128, i1 } %a, 1
  ret i1 %b
}

define void @every_kind(ptr %p) {
  %xchg = atomicrmw xchg ptr %p, i32 1 acq_rel
  %add = atomicrmw add ptr %p, i32 1 acq_rel
  %sub = atomicrmw sub ptr %p, i32 1 acq_rel
  %and = atomicrmw and ptr %p, i32 1 acq_rel
  %nand = atomicrmw nand ptr %p, i32 1 acq_rel
  %or = atomicrmw or ptr %p, i32 1 acq_rel
  %xor = atomicrmw xor ptr %p, i32 1 acq_rel
  %max = atomicrmw max ptr %p, i32 1 acq_rel
  %min = atomicrmw min ptr %p, i32 1 acq_rel
  %umax = atomicrmw umax ptr %p, i32 1 acq_rel
  %umin = atomicrmw umin ptr %p, i32 1 acq_rel
  %fadd = atomicrmw fadd ptr %p, float 1.0 acq_rel
  %fsub = atomicrmw fsub ptr %p, float 1.0 acq_rel
  %fmax = atomicrmw fmax ptr %p, float 1.0 acq_rel
  %fmin = atomicrmw fmin ptr %p, float 1.0 acq_rel
  %uinc_wrap = atomicrmw uinc_wrap ptr %p, i32 1 acq_rel
  %udec_wrap = atomicrmw udec_wrap ptr %p, i32 1 acq_rel
  %usub_cond = atomicrmw usub_cond ptr %p, i32 1 acq_rel
  %usub_sat = atomicrmw usub_sat ptr %p, i32 1 acq_rel
  ret void
}
