// expect: ok timeout worker-exit
return "\u0344".repeat(1e6).normalize("NFD").length;
