#!/usr/bin/env node
/* The command from a checkout, by the path that scripts and services had before the source was cut into packages. */
import '../packages/weir/src/main.ts';
