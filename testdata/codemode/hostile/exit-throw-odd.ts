// expect: exception
throw Object.create(null);
