"""The networks that the paper is compared with: recurrent, convolutional, and a decoder alone."""
