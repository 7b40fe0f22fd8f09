; A check has the line of its access, or the function's first; it is never a jump and never merged with another.
; RUN early
; EXPECT notail call void @__footrace_write4(ptr %p)
; EXPECT notail call void @__footrace_write8(ptr %p)
; EXPECT { nomerge }
; EXPECT !DILocation(line: 12, column: 5
; EXPECT !DILocation(line: 10, scope
; COUNT 2 , !dbg !6
; COUNT 1 , !dbg !7
define void @f(ptr %p) !dbg !4 {
  store i32 1, ptr %p, align 4, !dbg !7
  store i64 1, ptr %p, align 8
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "", isOptimized: false, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.c", directory: "/")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 12, column: 5, scope: !4)
