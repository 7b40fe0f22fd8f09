; RUN early
; STAT 2 skipped: private thread-local
; STAT 2 write checks
@mine = internal thread_local global i32 0
@shared = internal thread_local global i32 0
@visible = thread_local global i32 0

define void @f() {
  %a = call ptr @llvm.threadlocal.address.p0(ptr @mine)
  store i32 1, ptr %a, align 4
  %b = load i32, ptr @mine, align 4
  %c = call ptr @llvm.threadlocal.address.p0(ptr @shared)
  store i32 1, ptr %c, align 4
  call void @keeps(ptr %c)
  %d = call ptr @llvm.threadlocal.address.p0(ptr @visible)
  store i32 1, ptr %d, align 4
  ret void
}
declare void @keeps(ptr)
declare ptr @llvm.threadlocal.address.p0(ptr)
