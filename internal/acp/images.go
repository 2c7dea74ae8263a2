package acp

// ImageBackend is implemented by a Backend that knows about images.
type ImageBackend interface {
	// TakesImages says whether some model that can be chosen takes images in
	// prompts. It never blocks.
	TakesImages() bool
}

// takesImages says whether images are advertised.
func (s *Server) takesImages() bool {
	b, ok := s.opt.Backend.(ImageBackend)
	return ok && b.TakesImages()
}

// imageSupport is what a session's next prompt may have of images.
func (s *Server) imageSupport(l *liveSession) imageSupport {
	return imageSupport{advertised: s.takesImages(), model: l.agent.Settings().Model, taken: l.agent.ModelInfo().Images}
}
