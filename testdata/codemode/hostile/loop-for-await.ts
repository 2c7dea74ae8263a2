// expect: timeout
for (;;) await null;
