; RUN early
; EXPECT define i32 @private
; NEVER __footrace_write4(ptr %private
; NEVER __footrace_read4(ptr %private
; EXPECT call void @__footrace_write4(ptr %published)
; EXPECT call void @__footrace_write4(ptr %returned)
; EXPECT call void @__footrace_write4(ptr %kept)
; EXPECT call void @__footrace_write4(ptr %grown)
; EXPECT call void @__footrace_write4(ptr %larger)
; EXPECT call void @__footrace_write4(ptr %unknown)
; EXPECT call void @__footrace_write4(ptr %mine)
@global = global ptr null

define i32 @private(i64 %n, i1 %c) personality ptr @personality {
  %private1 = call ptr @malloc(i64 %n)
  store i32 1, ptr %private1, align 4
  %null = icmp eq ptr %private1, null
  %private2 = getelementptr i32, ptr %private1, i64 %n
  store i32 2, ptr %private2, align 4
  call void @looks(ptr %private1)
  %private3 = call ptr @realloc(ptr %private1, i64 %n)
  %private4 = select i1 %c, ptr %private3, ptr null
  %a = load i32, ptr %private4, align 4
  call void @free(ptr %private3)
  %private5 = invoke ptr @_Znwm(i64 %n) to label %normal unwind label %pad
normal:
  store i32 3, ptr %private5, align 4
  call void @_ZdlPv(ptr %private5)
  %private6 = call ptr @_RNvCs1234_7___rustc12___rust_alloc(i64 8, i64 8)
  store i32 3, ptr %private6, align 4
  call void @_RNvCs1234_7___rustc14___rust_dealloc(ptr %private6, i64 8, i64 8)
  ret i32 %a
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}

; Keeps nothing, recursively.
define internal void @looks(ptr %p) {
  %v = load i32, ptr %p, align 4
  %more = icmp eq i32 %v, 0
  br i1 %more, label %again, label %end
again:
  %next = getelementptr i32, ptr %p, i64 1
  call void @free(ptr null)
  br label %end
end:
  ret void
}

define void @published() {
  %published = call ptr @malloc(i64 4)
  store i32 1, ptr %published, align 4
  store ptr %published, ptr @global, align 8
  ret void
}

define ptr @returned() {
  %returned = call ptr @malloc(i64 4)
  store i32 1, ptr %returned, align 4
  ret ptr %returned
}

define void @kept() {
  %kept = call ptr @malloc(i64 4)
  store i32 1, ptr %kept, align 4
  call void @passes_on(ptr %kept)
  ret void
}

define internal void @passes_on(ptr %p) {
  call void @keeps(ptr %p)
  ret void
}

define internal void @keeps(ptr %p) {
  store ptr %p, ptr @global, align 8
  ret void
}

; The new block may be the old one.
define void @grown() {
  %grown = call ptr @malloc(i64 4)
  store i32 1, ptr %grown, align 4
  %larger = call ptr @realloc(ptr %grown, i64 8)
  store i32 1, ptr %larger, align 4
  store ptr %larger, ptr @global, align 8
  ret void
}

; Whose block it was before is not known.
define void @unknown(ptr %p) {
  %unknown = call ptr @realloc(ptr %p, i64 8)
  store i32 1, ptr %unknown, align 4
  call void @free(ptr %unknown)
  ret void
}

; An allocator of the program's own may give what somebody else had.
define void @own() {
  %mine = call ptr @valloc(i64 8)
  store i32 1, ptr %mine, align 4
  call void @free(ptr %mine)
  ret void
}

define ptr @valloc(i64 %n) {
  %p = load ptr, ptr @global, align 8
  ret ptr %p
}

declare ptr @malloc(i64)
declare ptr @realloc(ptr captures(none), i64)
declare void @free(ptr)
declare ptr @_Znwm(i64)
declare void @_ZdlPv(ptr)
declare ptr @_RNvCs1234_7___rustc12___rust_alloc(i64, i64)
declare void @_RNvCs1234_7___rustc14___rust_dealloc(ptr, i64, i64)
declare i32 @personality(...)
