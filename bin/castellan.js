#!/usr/bin/env node
import { prepare } from './prepare.js';

prepare();
await import('../src/main.ts');
