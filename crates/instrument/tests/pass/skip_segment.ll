; Relative to a segment register: not an address that the runtime could name.
; RUN early
; NEVER call void @__footrace_read
; STAT 1 skipped: segment-relative
define i64 @f() {
  %a = load i64, ptr addrspace(257) null, align 8
  ret i64 %a
}
