#pragma once
#ifdef __cplusplus
extern "C" {
#endif
void counter_bump(void);
long counter_value(void);
#ifdef __cplusplus
}
#endif
