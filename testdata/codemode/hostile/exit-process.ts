// expect: exception
(globalThis as any).process.exit(0);
