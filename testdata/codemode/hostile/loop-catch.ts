// expect: timeout
for (;;) { try { for (;;) {} } catch { continue; } }
