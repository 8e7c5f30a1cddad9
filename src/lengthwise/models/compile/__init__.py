"""C-RASP[periodic, local] to Limit Transformers, in named passes: normalize, schedule, allocate, heads, mlps, readout."""
